"""Special cases of machinelearningservices: Azure Machine Learning."""
